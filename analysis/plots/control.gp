# SPDX-License-Identifier: GPL-3.0-or-later
# Why a call has its rate: above the rate control's target, its estimate from delay and what was
# acknowledged; in the middle the signal of its overuse detector against the threshold; below the
# waiting in the path's queue.
width = 900; height = 700; size = 15
load templates.'/figure.gp'
set multiplot
set xrange [0:whole_end]
set lmargin 10
set rmargin 2
set format x ''
set tmargin at screen 0.93
set bmargin at screen 0.65
set yrange [0:(capacity > 0 ? capacity * 1.2 : 1e9)]
if (capacity <= 0) { set yrange [0:*] }
set key at screen 0.53, screen 0.965 center center horizontal maxrows 1 samplen 2.5 font ',13'
set ylabel 'rate (Mbit/s)'
plot $link using 1:(capacity > 0 ? $2 : NaN) with steps lc rgb black lw 1.5 dt 2 title 'link rate', \
    csv using 1:($4 / 1e6) with lines lc rgb orange lw 1.5 dt (12,4) title 'acknowledged', \
    '' using 1:($2 / 1e6) with lines lc rgb blue lw 2.4 dt 1 title 'target', \
    '' using 1:($3 / 1e6) with lines lc rgb green lw 1.5 dt (4,3) title 'estimate from delay'
# Up to twelve tics by gnuplot's own choice: small enough to stand apart.
set tmargin at screen 0.59
set bmargin at screen 0.365
set ytics font ',11'
set yrange [*:*]
set key at screen 0.53, screen 0.615 center center horizontal maxrows 1 samplen 2.5 font ',13'
set ylabel "overuse signal\n(start threshold = 1)"
plot csv using 1:(-$6):6 with filledcurves fc rgb '#d9d9d9' fs solid noborder title 'within the threshold', \
    '' using 1:5 with lines lc rgb vermillion lw 1.5 dt 1 title 'signal: above the band is overuse'
set ytics font ''
set tmargin at screen 0.34
set bmargin at screen 0.10
unset key
set format x
set yrange [0:*]
set xlabel 'time since start of run (s)'
set ylabel "path's queue,\n95th percentile (ms)"
plot csv using 1:7 with lines lc rgb purple lw 1.5 dt 1 notitle
unset multiplot
unset tmargin
unset bmargin
load templates.'/reset.gp'
set key on
set key outside top center horizontal maxrows 1 samplen 3 font ''
set lmargin 10
set rmargin 3
