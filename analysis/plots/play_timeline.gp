# SPDX-License-Identifier: GPL-3.0-or-later
# Music through an event of the path under two controllers: bandwidth above, stutters below.
width = 900; height = 600; size = 15
load templates.'/figure.gp'
set multiplot
set lmargin 9
set rmargin 2
set object 1 rectangle from event_start, graph 0 to event_end, graph 1 behind \
    fc rgb '#eeeeee' fs solid noborder
set xrange [0:*]
set yrange [0:*]
set tmargin at screen 0.91
set bmargin at screen 0.545
set format x ''
set ylabel 'bandwidth (Mbit/s)'
plot csv using (of('cubic') * $2):3 with lines lc rgb vermillion lw 2.5 dt (10,4) title 'cubic', \
    csv using (of('bbr') * $2):3 with lines lc rgb blue lw 3 dt 1 title 'bbr'
set tmargin at screen 0.495
set bmargin at screen 0.125
set format x
unset key
set xlabel 'time since start of run (s)'
set ylabel 'stutters in 10 s, per run'
plot csv using (of('cubic') * $2):4 with lines lc rgb vermillion lw 2.5 dt (10,4), \
    csv using (of('bbr') * $2):4 with lines lc rgb blue lw 3 dt 1
unset multiplot
unset object 1
unset tmargin
unset bmargin
load templates.'/reset.gp'
set key on
set lmargin 10
set rmargin 3
