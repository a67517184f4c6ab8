# SPDX-License-Identifier: GPL-3.0-or-later
# Distribution of the media packets' one-way delay under two stacks, during the transfer if both
# have one.
set terminal svg size 900,460 font 'sans,16' enhanced background rgb 'white' linewidth 1
set lmargin 9
owd = during_end > 0 && other_during_end > 0 ? 'owd_during_ms' : 'owd_whole_ms'
set xlabel 'one-way delay of media packets (ms)'
set ylabel 'fraction of packets'
set yrange [0:1]
set xrange [0:*]
plot series('cdf') using owd:1 with lines lc rgb vermillion lw 2.5 dt (10,4) title stack, \
    other_series('cdf') using owd:1 with lines lc rgb blue lw 3 dt 1 title other_stack
load templates.'/reset.gp'
load templates.'/style.gp'
