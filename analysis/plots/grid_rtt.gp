# SPDX-License-Identifier: GPL-3.0-or-later
# The one-way delay that the network's round-trip time leaves, against that from application to
# application: what lies above the diagonal waits in the sender.
width = 900; height = 620; size = 14
load templates.'/figure.gp'
array colour[4] = [vermillion, blue, green, black]
array mark[4] = [4, 7, 8, 2]
set xlabel 'round-trip time less the propagation delay of the way back, mean (ms)'
set ylabel 'delay from application to application, mean to 95th percentile (ms)'
set xrange [0:across * 1.08]
set yrange [0:top * 1.08]
least = across < top ? across : top
plot for [s = 1:stacks] csv using ($3 == s ? $8 : NaN):5:6:7 with yerrorbars \
        lc rgb colour[style_of[s]] lw 1.5 pt mark[style_of[s]] ps 1.1 \
        title stack_name[s], \
    '+' using (least * $0 / 100):(least * $0 / 100) with lines lc rgb black lw 1.5 dt 2 \
        title 'nothing waits in the sender'
load templates.'/reset.gp'
