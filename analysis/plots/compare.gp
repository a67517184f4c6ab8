# SPDX-License-Identifier: GPL-3.0-or-later
# Axes shared by the comparisons of cells: one place per cell, in the order of the plan.
set terminal svg size 900,(cells > 6 ? 560 : 460) font 'sans,14' enhanced \
    background rgb 'white' linewidth 1
set xrange [-0.6:cells - 0.4]
set yrange [0:*]
set xtics rotate by (cells > 3 ? -35 : 0) font (cells > 20 ? ',9' : ',12')
set bars 0.6
gap = 0.18
