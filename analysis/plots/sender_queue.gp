# SPDX-License-Identifier: GPL-3.0-or-later
# Waiting of media packets in the sender beyond the frame spread, and in the path's queue.
width = 900; height = 420; size = 14
load templates.'/figure.gp'
load templates.'/period.gp'
set xlabel 'time since start of run (s)'
set ylabel 'waiting time (ms)'
set xrange [0:whole_end]
set yrange [0:*]
set offsets 0, 0, graph 0.08, 0
plot csv using 1:12 with lines lc rgb orange lw 1.5 dt (12,4) \
        title 'path queue, 95th percentile', \
    '' using 1:9 with lines lc rgb purple lw 2 dt 1 title 'sender queue, 95th percentile'
load templates.'/reset.gp'
