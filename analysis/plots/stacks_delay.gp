# SPDX-License-Identifier: GPL-3.0-or-later
# One-way delay of media packets under two stacks over time, capture to capture.
set terminal svg size 900,460 font 'sans,16' enhanced background rgb 'white' linewidth 1
set lmargin 9
set xlabel 'time since start of run (s)'
set ylabel 'one-way delay (ms)'
set xrange [0:(whole_end > other_whole_end ? whole_end : other_whole_end)]
set yrange [0:*]
plot propagation with lines lc rgb black lw 1.5 dt 3 title 'propagation', \
    series('delay') using 1:2 with lines lc rgb vermillion lw 1.5 dt (10,3) title stack, \
    other_series('delay') using 1:2 with lines lc rgb blue lw 2.5 dt 1 title other_stack
load templates.'/reset.gp'
load templates.'/style.gp'
