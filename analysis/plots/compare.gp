# SPDX-License-Identifier: GPL-3.0-or-later
# Axes shared by the comparisons of cells: one place per cell, in the order of the plan.
width = 900
height = cells > 6 ? 560 : 460
size = 14
load templates.'/figure.gp'
set xrange [-0.6:cells - 0.4]
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
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
