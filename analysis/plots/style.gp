# SPDX-License-Identifier: GPL-3.0-or-later
# Common to all figures. Colours are Okabe and Ito's, which colour-blind readers can tell apart;
# every line also has its own dash pattern, so that print in grey works.
set encoding utf8
set datafile separator comma
set datafile missing NaN
set datafile columnheaders
set border 3 lc rgb '#444444'
set tics nomirror textcolor rgb '#333333'
set grid lc rgb '#e2e2e2' lt 1 lw 1, lc rgb '#f0f0f0' lt 1 lw 1
set key outside top center horizontal maxrows 1 samplen 3 spacing 1.2 textcolor rgb '#222222'
set lmargin 10
set rmargin 3

blue = '#0072b2'
orange = '#e69f00'
green = '#009e73'
vermillion = '#d55e00'
purple = '#cc79a7'
sky = '#56b4e9'
black = '#000000'

# page(width, height, font) in pixels, to be evaluated; of a PDF, 100 of them are an inch.
page(w, h, size) = format eq 'pdf' ? \
    sprintf("set terminal pdfcairo size %gin,%gin font 'sans,%g' enhanced background rgb 'white' linewidth 0.9", \
        w / 100.0, h / 100.0, size * 0.72) : \
    sprintf("set terminal svg size %d,%d font 'sans,%d' enhanced background rgb 'white' linewidth 1", w, h, size)
# The rows of a pair's CSV that are of one stack.
of(name) = strcol(1) eq name ? 1 : NaN
