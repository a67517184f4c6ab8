# SPDX-License-Identifier: GPL-3.0-or-later
# What a figure set for itself.
unset object
unset label
unset xlabel
unset ylabel
set xtics autofreq norotate
set autoscale
set boxwidth
