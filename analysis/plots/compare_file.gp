# SPDX-License-Identifier: GPL-3.0-or-later
# File time of every cell, and how long the file would take alone on its part of the link.
load templates.'/compare.gp'
set ylabel 'file time (s)'
plot csv using 0:2:3:4:xtic(1) with yerrorbars lc rgb blue lw 2 pt 7 ps 1 \
    title 'mean and 95 % confidence interval', \
    '' using ($0 - 0.25):5:(0.5):(0) with vectors nohead lc rgb black lw 2 dt 3 title 'ideal'
load templates.'/compare_end.gp'
