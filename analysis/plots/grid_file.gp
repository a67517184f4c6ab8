# SPDX-License-Identifier: GPL-3.0-or-later
# File time of every path, and how long the file would take alone on its part of the link.
load templates.'/panels_begin.gp'
shared = 0
label_y = 'file time (s)'
panel = "plot for [s = 1:stacks] csv using (at(s)):5:6:7 with yerrorbars lc rgb colour[style_of[s]] lw 2 dt 1 pt mark[style_of[s]] ps 1.1 notitle, for [s = 1:stacks] csv using (at(s) - 0.13):8:(0.26):(0) with vectors nohead lc rgb black lw 2 dt 1 notitle"
legend = legend.", keyentry with lines lc rgb black lw 2 dt 1 title 'ideal'"
load templates.'/panels.gp'
