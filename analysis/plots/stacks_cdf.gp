# SPDX-License-Identifier: GPL-3.0-or-later
# Distribution of the media packets' one-way delay under two stacks, during the transfer if both
# have one.
width = 900; height = 460; size = 16
load templates.'/figure.gp'
set lmargin 9
owd = during_end > 0 && other_during_end > 0 ? 'owd_during_ms' : 'owd_whole_ms'
set xlabel 'one-way delay of media packets (ms)'
set ylabel 'fraction of packets'
set yrange [0:1]
set xrange [0:*]
plot csv using (of(stack) * column(owd)):2 with lines lc rgb vermillion lw 2.5 dt (10,4) title stack, \
    csv using (of(other_stack) * column(owd)):2 with lines lc rgb blue lw 3 dt 1 title other_stack
load templates.'/reset.gp'
set lmargin 10
