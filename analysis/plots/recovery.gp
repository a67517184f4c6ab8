# SPDX-License-Identifier: GPL-3.0-or-later
# Media throughput in each of the first seconds after the transfer.
width = 900; height = 420; size = 14
load templates.'/figure.gp'
set xlabel 'second after the last file byte arrived'
set ylabel 'media throughput (Mbit/s)'
set xrange [0.4:10.6]
set xtics 1
if (capacity > 0) {
    set yrange [0:capacity * 1.2]
} else {
    set yrange [0:*]
}
set boxwidth 0.6
plot csv using 1:2 with boxes fc rgb blue fs solid 0.6 noborder title 'media', \
    (capacity > 0 && link_steps == 0 ? capacity : NaN) with lines lc rgb black lw 1.5 dt 2 \
        title (link_steps == 0 ? 'link rate' : ''), \
    (media_before > 0 ? media_before : NaN) with lines lc rgb green lw 2 dt (4,3) \
        title (media_before > 0 ? 'mean before transfer' : ''), \
    (media_during > 0 ? media_during : NaN) with lines lc rgb vermillion lw 2 dt (12,4) \
        title (media_during > 0 ? 'mean during' : '')
load templates.'/reset.gp'
