# SPDX-License-Identifier: GPL-3.0-or-later
# Axes shared by the comparisons of cells: one place per cell, in the order of the plan.
height = cells > 6 ? 560 : 460
set terminal svg size 900,height font 'sans,14' enhanced \
    background rgb 'white' linewidth 1
set xrange [-0.6:cells - 0.4]
set yrange [0:*]
if (cells > 20) {
    set xtics rotate by -60 font ',9'
} else {
    if (cells > 3) {
        set xtics rotate by -35 font ',12'
    }
}
set bars 0.6
set rmargin 8
gap = 0.18
