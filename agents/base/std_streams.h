/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program owes to those who read its output: that all of it was written, or a status that
 * says it was not. */
#ifndef AGENTS_BASE_STD_STREAMS_H
#define AGENTS_BASE_STD_STREAMS_H

/* The status of a program that ends well but for its output. */
#define STD_STREAMS_STATUS 3

/* To be called first in main. Streams that were closed by whoever started the program are
 * filled, so that no file of ours gets their numbers and what is meant for a person; and when the
 * program exits with output that could not be written (a full disk, a closed stream), it says so
 * and ends with STD_STREAMS_STATUS. */
void std_streams_open(void);

#endif
