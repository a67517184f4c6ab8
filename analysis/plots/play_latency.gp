# SPDX-License-Identifier: GPL-3.0-or-later
# Distribution of the playback latency of music under two controllers.
width = 900; height = 420; size = 15
load templates.'/figure.gp'
set lmargin 9
set xlabel 'playback latency (ms)'
set ylabel 'fraction of plays'
set yrange [0:1]
set logscale x
set xrange [*:*]
plot csv using (of('cubic') * $2):3 with lines lc rgb vermillion lw 2.5 dt (10,4) title 'cubic', \
    csv using (of('bbr') * $2):3 with lines lc rgb blue lw 3 dt 1 title 'bbr'
unset logscale x
load templates.'/reset.gp'
set lmargin 10
