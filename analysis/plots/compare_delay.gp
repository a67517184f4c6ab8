# SPDX-License-Identifier: GPL-3.0-or-later
# One-way delay of media in every cell during the transfer.
load templates.'/compare.gp'
set ylabel 'one-way delay of media (ms)'
plot csv using ($0 - gap):2:3:4 with yerrorbars lc rgb blue lw 2 pt 7 ps 1 title 'median', \
    '' using 0:5:6:7:xtic(1) with yerrorbars lc rgb vermillion lw 2 pt 5 ps 0.9 \
        title '95th percentile', \
    '' using ($0 + gap):8:9:10 with yerrorbars lc rgb black lw 2 pt 8 ps 1 \
        title '99th percentile'
load templates.'/compare_end.gp'
