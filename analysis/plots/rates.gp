# SPDX-License-Identifier: GPL-3.0-or-later
# Rates over time: what arrived as media and as data, the rate control's target, the link's rate.
# Below, marks for what changed in the run: share (media's part), min and max (Mbit/s).
width = 900; height = 420; size = 14
load templates.'/figure.gp'
load templates.'/period.gp'
set xlabel 'time since start of run (s)'
set ylabel 'rate (Mbit/s)'
# A rate of many steps would hide the rest.
link_colour = link_steps > 40 ? '#bbbbbb' : black
link_width = link_steps > 40 ? 0.7 : 1.5
link_dash = link_steps > 40 ? 1 : 2
set xrange [0:whole_end]
if (capacity > 0) {
    set yrange [0:capacity * 1.2]
} else {
    set yrange [0:*]
}
plot $link using 1:(capacity > 0 ? $2 : NaN) with steps lc rgb link_colour lw link_width dt link_dash title 'link rate', \
    csv using 1:($5 / 1e6) with lines lc rgb green lw 1.5 dt (4,3) title 'target', \
    '' using 1:($3 / 1e6) with lines lc rgb orange lw 2 dt (12,4) title (is_exec ? 'all packets' : 'data'), \
    '' using 1:(is_exec ? NaN : $2 / 1e6) with lines lc rgb blue lw 2.5 dt 1 \
        title (is_exec ? '' : 'media'), \
    for [i = 1:(steps > 0)] $steps using 1:(0):2 with labels point pt 9 ps 1.2 lc rgb purple \
        offset 0.5, 0.5 left font ',11' textcolor rgb purple notitle
load templates.'/reset.gp'
