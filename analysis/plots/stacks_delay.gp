# SPDX-License-Identifier: GPL-3.0-or-later
# One-way delay of media packets under two stacks over time, capture to capture.
width = 900; height = 460; size = 16
load templates.'/figure.gp'
set lmargin 9
set xlabel 'time since start of run (s)'
set ylabel 'one-way delay (ms)'
set xrange [0:(whole_end > other_whole_end ? whole_end : other_whole_end)]
set yrange [0:*]
plot propagation with lines lc rgb black lw 1.5 dt 3 title 'propagation', \
    csv using 2:(of(stack) * $3) with lines lc rgb vermillion lw 1.5 dt (10,3) title stack, \
    csv using 2:(of(other_stack) * $3) with lines lc rgb blue lw 2.5 dt 1 title other_stack
load templates.'/reset.gp'
set lmargin 10
