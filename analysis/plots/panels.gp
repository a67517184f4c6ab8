# SPDX-License-Identifier: GPL-3.0-or-later
# Panels of a grid of paths: a column per rate, a row per setting of what else varies; in each the
# delays from left to right. Before: panel (the plot command, a string, which draws row r and
# column c), legend (what to add to it for the key), label_y, and shared (whether all columns have
# one scale).
width = 900
height = 130 + 210 * shown
size = 14
load templates.'/figure.gp'
array colour[4] = [vermillion, blue, green, black]
array mark[4] = [4, 7, 8, 2]
array dash[4] = [3, 1, 4, 5]
left = 0.095
right = any_row_name ? 0.955 : 0.985
gap = shared ? 0.02 : 0.055
wide = (right - left - gap * (columns - 1)) / columns
high = 62.0 / height
low = 68.0 / height
tall = (1.0 - high - low) / shown
set multiplot
# The key, on a panel of its own: that of another would be no wider than it.
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 1.0 - high / 2
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key at screen 0.5, screen 1.0 - 14.0 / height center center horizontal maxrows 1
eval "plot NaN notitle".legend
unset key
set border 3
set xtics nomirror
set ytics nomirror
set bars 0.7
set xrange [0.5:delays + 0.5]
set grid
do for [k = 1:shown] {
    r = row_at[k]
    do for [c = 1:columns] {
        set lmargin at screen left + (c - 1) * (wide + gap)
        set rmargin at screen left + (c - 1) * (wide + gap) + wide
        set tmargin at screen 1 - high - (k - 1) * tall
        set bmargin at screen 1 - high - k * tall + 0.028 + 0.01 * (shown == 1)
        set yrange [0:(shared ? top : tops[c]) * 1.12]
        unset label
        if (k == 1) { set label 1 sprintf('%g Mbit/s', column_mbps[c]) at graph 0.5, graph 1.07 center }
        if (c == columns && any_row_name) { set label 2 row_name[r] at graph 1.07, graph 0.5 center rotate by -90 font sprintf(',%g', small) }
        if (c == 1 && k == 1) { set label 3 label_y at screen 0.022, screen (1 - high + low) / 2 center rotate by 90 }
        if (c == 1 + columns / 2 && k == shown) { set label 4 'one-way propagation delay (ms)' at screen (left + right) / 2, screen 20.0 / height center }
        set format y (shared && c > 1 ? '' : '%g')
        set xtics ('' 1)
        do for [i = 1:delays] { set xtics add (k == shown ? sprintf('%g', x_ms[i]) : '' i) }
        empty = (shared ? top : tops[c]) < 0.0011
        if (empty) {
            set label 6 'no valid run' at graph 0.5, graph 0.5 center textcolor rgb '#666666'
            set yrange [0:1]
            set format y ''
        }
        eval panel
    }
}
unset multiplot
set grid
set format y '%g'
set lmargin 10
set rmargin 3
unset tmargin
unset bmargin
set bars 1
load templates.'/reset.gp'
set key outside top center horizontal maxrows 1
