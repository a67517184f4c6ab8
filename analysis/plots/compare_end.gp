# SPDX-License-Identifier: GPL-3.0-or-later
# What the comparisons of cells set for themselves.
load templates.'/reset.gp'
set rmargin 3
set bars 1
