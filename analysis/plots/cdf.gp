# SPDX-License-Identifier: GPL-3.0-or-later
# Distribution of the media packets' one-way delay in the windows that exist.
width = 900; height = 420; size = 14
load templates.'/figure.gp'
set xlabel is_exec ? 'one-way delay of packets (ms)' : 'one-way delay of media packets (ms)'
set ylabel 'fraction of packets'
set yrange [0:1]
set xrange [0:*]
if (during_end > 0) {
    plot csv using (has_before ? column('owd_before_ms') : NaN):1 with lines \
            lc rgb green lw 2 dt (4,3) title (has_before ? 'before' : ''), \
        '' using 'owd_during_ms':1 with lines lc rgb vermillion lw 2.5 dt 1 title 'during', \
        '' using (has_after ? column('owd_after_ms') : NaN):1 with lines lc rgb blue lw 2 dt (12,4) \
            title (has_after ? 'after' : ''), \
        '' using 'app_owd_during_ms':1 with lines lc rgb black lw 1.5 dt 3 \
            title 'during, by application'
} else {
    plot csv using 'owd_whole_ms':1 with lines lc rgb blue lw 2.5 dt 1 title 'network', \
        '' using 'app_owd_whole_ms':1 with lines lc rgb black lw 1.5 dt 3 \
            title (is_exec ? '' : 'by application')
}
load templates.'/reset.gp'
