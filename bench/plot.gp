# SPDX-License-Identifier: MIT
# plot.gp: each metric relative to TCP, from plot.dat in the directory `out`.
set terminal svg size 900,420 background "white"
set output out."/ratios.svg"
set title "relative to kernel TCP in the same run (times: less is better)"
set style data histogram
set style fill solid 0.8
set logscale y
set ylabel "x TCP"
set grid ytics
set key top left
set xtics rotate by -20
set datafile missing "-"
plot for [i=2:6] out."/plot.dat" using i:xtic(1) title columnheader(i)
