# SPDX-License-Identifier: GPL-3.0-or-later
# Media throughput of every cell before, during and after the transfer.
load templates.'/compare.gp'
set ylabel 'media throughput (Mbit/s)'
plot csv using ($0 - gap):2:3:4 with yerrorbars lc rgb green lw 2 pt 8 ps 1 \
        title 'before', \
    '' using 0:5:6:7:xtic(1) with yerrorbars lc rgb vermillion lw 2 pt 7 ps 1 \
        title 'during', \
    '' using ($0 + gap):8:9:10 with yerrorbars lc rgb blue lw 2 pt 5 ps 0.9 title 'after'
load templates.'/compare_end.gp'
