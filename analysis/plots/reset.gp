# SPDX-License-Identifier: GPL-3.0-or-later
# What a figure set for itself.
unset object
unset label
unset xlabel
unset ylabel
set xtics nomirror autofreq norotate
set ytics nomirror
set autoscale
set offsets 0, 0, 0, 0
set boxwidth
