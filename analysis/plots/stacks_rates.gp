# SPDX-License-Identifier: GPL-3.0-or-later
# Rates of two stacks on one time axis: media above, data below.
width = 900; height = 640; size = 16
load templates.'/figure.gp'
end = whole_end > other_whole_end ? whole_end : other_whole_end
set multiplot
# A rate of many steps would hide the rest.
link_colour = link_steps > 40 ? '#bbbbbb' : black
link_width = link_steps > 40 ? 0.7 : 1.5
link_dash = link_steps > 40 ? 1 : 3
set xrange [0:end]
if (capacity > 0) {
    set yrange [0:capacity * 1.15]
} else {
    set yrange [0:*]
}
set lmargin 9
set rmargin 2
set tmargin at screen 0.915
set bmargin at screen 0.545
set format x ''
set ylabel 'media (Mbit/s)'
plot $link using ($1 >= whole_end ? end : $1):(capacity > 0 ? $2 : NaN) with steps lc rgb link_colour lw link_width dt link_dash title 'link rate', \
    csv using 2:(of(stack) * $3 / 1e6) with lines lc rgb vermillion lw 2 dt (10,4) title stack, \
    csv using 2:(of(other_stack) * $3 / 1e6) with lines lc rgb blue lw 3 dt 1 title other_stack
set tmargin at screen 0.495
set bmargin at screen 0.125
set format x
unset key
set xlabel 'time since start of run (s)'
set ylabel 'data (Mbit/s)'
plot $link using ($1 >= whole_end ? end : $1):(capacity > 0 ? $2 : NaN) with steps lc rgb link_colour lw link_width dt link_dash, \
    csv using 2:(of(stack) * $4 / 1e6) with lines lc rgb vermillion lw 2 dt (10,4), \
    csv using 2:(of(other_stack) * $4 / 1e6) with lines lc rgb blue lw 3 dt 1
unset multiplot
unset tmargin
unset bmargin
load templates.'/reset.gp'
set key on
set lmargin 10
set rmargin 3
