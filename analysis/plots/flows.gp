# SPDX-License-Identifier: GPL-3.0-or-later
# All flows of a run on one time axis: rates with the capacity, one-way delay, loss. Flows are told
# apart by colour, dashes and marks; traffic beside the calls is thin.
rates = (forward_flows > 0) + (backward_flows > 0)
panels = rates + 2
keys = ceil((flows + 1) / 3.0)
width = 900; height = 78 + 24 * keys + 185 * panels; size = 15
load templates.'/figure.gp'
# Calls have the first five styles.
array flow_colour[9] = [blue, vermillion, green, purple, sky, orange, black, '#777777', '#8c510a']
array flow_dash[9] = ['solid', '(10,4)', '(4,3)', '(14,3,3,3)', '(2,2)', '(16,3)', '(6,3)', '(3,2)', '(8,2,2,2)']
array flow_mark[9] = [7, 4, 9, 12, 5, 2, 3, 1, 11]
colour_at(i) = flow_colour[flow_style[i]]
mark_at(i) = flow_mark[flow_style[i]]
width_at(i) = flow_style[i] <= 5 ? 2.2 : 1.6
every_at(i) = int(whole_end / 7) > 1 ? int(whole_end / 7) : 1
# A column of flow i; NaN where it has no value.
of_flow(i, n) = strcol(1) eq flow_name[i] && strlen(strcol(n)) ? column(n) : NaN
top = 1.0 - (10.0 + 24.0 * keys) / height
low = 66.0 / height
tall = (top - low) / panels
gap = 16.0 / height
panel_top(k) = top - (k - 1) * tall
style(i) = sprintf("with linespoints lc rgb '%s' lw %g dt %s pt %d ps 0.7 pi %d", \
    colour_at(i), width_at(i), flow_dash[flow_style[i]], mark_at(i), every_at(i))
# One panel: "back" says of which direction flows are (2: both), column is drawn from the CSV.
line(i, column) = sprintf(", csv using 2:(of_flow(%d, %d)) %s notitle, csv using 2:(of_flow(%d, %d)) with points lc rgb '%s' pt 7 ps 0.2 notitle", \
    i, column, style(i), i, column, colour_at(i))
wanted(i, back) = back == 2 || flow_back[i] == back
# Where no flow has a value there is still something to plot.
$nothing << END
time,value
0,0
END
# A second without a value breaks a line; alone between two it is a dot.
set datafile missing '?'
set multiplot
set lmargin 9
set rmargin 2
set xrange [0:whole_end]
set format x ''
unset xlabel
# The key, on a panel of its own.
set tmargin at screen 1
set bmargin at screen top
unset border
unset tics
unset grid
set yrange [0:1]
set key at screen 0.53, screen 1.0 - 5.0 / height center top horizontal maxrows keys maxcols 3 samplen 4
legend = 'plot NaN with lines lc rgb black lw 1.5 dt 2 title "capacity"'
do for [i = 1:flows] { legend = legend.sprintf(", keyentry %s title '%s'", style(i), flow_title[i]) }
eval legend
unset key
set border 3
set xtics nomirror
set ytics nomirror
set grid
k = 0
do for [back = 0:1] {
    if ((back ? backward_flows : forward_flows) == 0) { continue }
    k = k + 1
    set tmargin at screen panel_top(k) - gap / 2
    set bmargin at screen panel_top(k + 1) + gap / 2
    set yrange [0:*]
    set ylabel (rates > 1 ? (back ? "backward\n(Mbit/s)" : "forward\n(Mbit/s)") : 'rate (Mbit/s)')
    command = "$nothing using 1:2 with points ps 0 lc rgb 'white' notitle, ".(back ? '$capacity_backward' : '$capacity_forward').' using 1:2 with steps lc rgb black lw 1.5 dt 2 notitle'
    do for [i = 1:flows] { if (wanted(i, back)) { command = command.line(i, 3) } }
    eval 'plot '.command
}
k = k + 1
set tmargin at screen panel_top(k) - gap / 2
set bmargin at screen panel_top(k + 1) + gap / 2
set ylabel "one-way\ndelay (ms)"
command = "$nothing using 1:2 with points ps 0 lc rgb 'white' notitle"
do for [i = 1:flows] { command = command.line(i, 4) }
eval 'plot '.command
k = k + 1
set tmargin at screen panel_top(k) - gap / 2
set bmargin at screen low
set format x
set xlabel 'time since start of run (s)'
set ylabel "packets\nlost (%)"
set yrange [0:1 < * ]
command = "$nothing using 1:2 with points ps 0 lc rgb 'white' notitle"
do for [i = 1:flows] { command = command.line(i, 5) }
eval 'plot '.command
unset multiplot
set datafile missing NaN
unset tmargin
unset bmargin
set format x
load templates.'/reset.gp'
set key on
set key outside top center horizontal maxrows 1 maxcols auto samplen 3
set lmargin 10
set rmargin 3
