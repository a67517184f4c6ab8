# SPDX-License-Identifier: GPL-3.0-or-later
# One-way delay of media of every path: median, up to the 95th percentile, and the 99th.
load templates.'/panels_begin.gp'
shared = 1
label_y = 'one-way delay of media (ms)'
panel = "plot for [s = 1:stacks] csv using (at(s)):5:6:7 with yerrorbars lc rgb colour[style_of[s]] lw 2 dt 1 pt mark[style_of[s]] ps 1.1 notitle, for [s = 1:stacks] csv using (at(s)):8 with points lc rgb colour[style_of[s]] pt 1 ps 0.7 lw 1.5 notitle, for [s = 1:stacks] csv using (at(s)):5 with lines lc rgb colour[style_of[s]] lw 1 dt dash[style_of[s]] notitle"
legend = legend.", keyentry with points lc rgb black pt 1 ps 0.7 lw 1.5 title '99th percentile'"
load templates.'/panels.gp'
