# SPDX-License-Identifier: GPL-3.0-or-later
# Media throughput of every path: mean, smallest and largest of the repetitions.
load templates.'/panels_begin.gp'
shared = 0
label_y = 'media throughput (Mbit/s)'
panel = "plot for [s = 1:stacks] csv using (at(s)):5:6:7 with yerrorbars lc rgb colour[style_of[s]] lw 2 dt 1 pt mark[style_of[s]] ps 1.1 notitle, for [s = 1:stacks] csv using (at(s)):5 with lines lc rgb colour[style_of[s]] lw 1 dt dash[style_of[s]] notitle"
load templates.'/panels.gp'
