# SPDX-License-Identifier: GPL-3.0-or-later
# A map of rate and delay per stack, and per setting of what else varies. Darker is more, also in
# grey; every field has its number. Before: most (the darkest value), number (its format) and
# title_of_heat.
load templates.'/panels_begin.gp'
width = 900
height = 130 + (60 + 46 * columns) * shown
size = 14
load templates.'/figure.gp'
left = 0.13
right = any_row_name ? 0.955 : 0.985
gap = 0.03
wide = (right - left - gap * (stacks - 1)) / stacks
high = 84.0 / height
low = 68.0 / height
tall = (1.0 - high - low) / shown
set multiplot
unset key
unset grid
unset colorbox
set palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#08306b')
set cbrange [0:most > 0 ? most : 1]
set xrange [0.5:delays + 0.5]
set yrange [0.5:columns + 0.5]
set label 5 title_of_heat at screen 0.5, screen 1.0 - 22.0 / height center font sprintf(',%g', small * 1.2)
do for [k = 1:shown] {
    r = row_at[k]
    do for [s = 1:stacks] {
        set lmargin at screen left + (s - 1) * (wide + gap)
        set rmargin at screen left + (s - 1) * (wide + gap) + wide
        set tmargin at screen 1 - high - (k - 1) * tall
        set bmargin at screen 1 - high - k * tall + 0.02
        unset label 1; unset label 2; unset label 3; unset label 4
        if (k == 1) { set label 1 stack_name[s] at graph 0.5, graph 1.0 offset 0, 0.8 center }
        if (s == stacks && any_row_name) { set label 2 row_name[r] at graph 1.03, graph 0.5 center rotate by -90 font sprintf(',%g', small) }
        if (s == 1 && k == 1) { set label 3 'link rate (Mbit/s)' at screen 0.03, screen (1 - high + low) / 2 center rotate by 90 }
        if (s == 1 && k == shown) { set label 4 'one-way propagation delay (ms)' at screen (left + right) / 2, screen 20.0 / height center }
        set xtics ('' 1) scale 0
        do for [i = 1:delays] { set xtics add (k == shown ? sprintf('%g', x_ms[i]) : '' i) }
        set ytics ('' 1) scale 0
        do for [i = 1:columns] { set ytics add (s == 1 ? sprintf('%g', column_mbps[i]) : '' i) }
        plot csv using ($1 == r && $3 == s && valid(5) ? $4 : NaN):2:(0.48):(0.48):5 with boxxyerror fc palette fs solid noborder, \
            csv using ($1 == r && $3 == s && valid(5) ? $4 : NaN):2:(sprintf(number, $5)):($5 > most * 0.55 ? 0xffffff : 0x111111) with labels textcolor rgb variable font sprintf(',%g', small)
        unset label 5
    }
}
unset multiplot
set key on
set ytics autofreq scale 1
set xtics scale 1
set grid lc rgb '#e2e2e2' lt 1 lw 1, lc rgb '#f0f0f0' lt 1 lw 1
set lmargin 10
set rmargin 3
unset tmargin
unset bmargin
load templates.'/reset.gp'
