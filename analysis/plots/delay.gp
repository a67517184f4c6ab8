# SPDX-License-Identifier: GPL-3.0-or-later
# One-way delay of media packets over time, capture to capture.
width = 900; height = 420; size = 14
load templates.'/figure.gp'
load templates.'/period.gp'
set xlabel 'time since start of run (s)'
set ylabel 'one-way delay (ms)'
set xrange [0:whole_end]
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
plot csv using 1:2:4 with filledcurves fc rgb sky fs solid 0.35 noborder \
        title 'median to maximum', \
    '' using 1:3 with lines lc rgb vermillion lw 1.5 dt (12,4) title '95th percentile', \
    '' using 1:2 with lines lc rgb blue lw 2 dt 1 title 'median (per 0.1 s)', \
    propagation with lines lc rgb black lw 1.5 dt 2 title 'propagation'
load templates.'/reset.gp'
