# SPDX-License-Identifier: GPL-3.0-or-later
# One-way delay of media in every cell during the transfer.
load templates.'/compare.gp'
set ylabel 'one-way delay of media (ms)'
plot $compare using ($0 - gap):11:12:13 with yerrorbars lc rgb blue lw 2 pt 7 ps 1 title 'median', \
    '' using 0:14:15:16:xtic(1) with yerrorbars lc rgb vermillion lw 2 pt 5 ps 0.9 \
        title '95th percentile', \
    '' using ($0 + gap):17:18:19 with yerrorbars lc rgb black lw 2 pt 8 ps 1 \
        title '99th percentile'
load templates.'/compare_end.gp'
