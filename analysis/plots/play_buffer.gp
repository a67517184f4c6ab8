# SPDX-License-Identifier: GPL-3.0-or-later
# Audio that lies ready in one music player under two controllers.
width = 900; height = 420; size = 15
load templates.'/figure.gp'
set lmargin 9
set xlabel 'time since start of run (s)'
set ylabel 'audio ready (s)'
if (event_start >= 0) {
    set object 1 rectangle from event_start, graph 0 to event_end, graph 1 behind \
        fc rgb '#eeeeee' fs solid noborder
}
set xrange [0:*]
set yrange [0:*]
plot csv using (of('cubic') * $2):3 with lines lc rgb vermillion lw 2 dt (10,4) title 'cubic', \
    csv using (of('bbr') * $2):3 with lines lc rgb blue lw 2 dt 1 title 'bbr'
unset object 1
load templates.'/reset.gp'
set lmargin 10
