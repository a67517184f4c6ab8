# SPDX-License-Identifier: GPL-3.0-or-later
# File time of every cell.
load templates.'/compare.gp'
set ylabel 'file time (s)'
plot $compare using 0:20:21:22:xtic(1) with yerrorbars lc rgb blue lw 2 pt 7 ps 1 \
    title 'mean and 95 % confidence interval'
load templates.'/compare_end.gp'
