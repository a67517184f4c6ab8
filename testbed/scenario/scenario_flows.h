/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many flows on one path: what a scenario has beside its first call, as whoever makes the run needs
 * it. Calls are numbered from 0; number 0 is the first, number n is calls[n - 1]. */
#ifndef TESTBED_SCENARIO_SCENARIO_FLOWS_H
#define TESTBED_SCENARIO_SCENARIO_FLOWS_H

#include "testbed/scenario/scenario.h"

#define SCENARIO_SEGMENT_COUNT_MAX (1 + SCENARIO_SEGMENTS_MAX)
#define SCENARIO_CALL_COUNT_MAX (1 + SCENARIO_CALLS_MAX)

/* Also of a zeroed scenario: there is none. */
bool scenario_call_there(const struct scenario_call *c);
bool scenario_udp_there(const struct scenario_udp *u);
bool scenario_segment_there(const struct scenario_segment *g);
/* Whether anything but the first call sends: further calls or cross traffic. */
bool scenario_has_others(const struct scenario *s);
/* Bottlenecks in line, 1 to SCENARIO_SEGMENT_COUNT_MAX. */
size_t scenario_segment_count(const struct scenario *s);
/* What the queue of a further one holds. */
int64_t scenario_segment_queue_bytes(const struct scenario_segment *g);

/* The name of call n: "call2" for number 1; "" for the first, whose folder is the run's. */
const char *scenario_call_name(size_t n);
/* Whether there is a call of number n. */
bool scenario_has_call(const struct scenario *s, size_t n);
/* The scenario as call n sees it, for scenario_agent_config: its own seed, stack, preset, times and
 * priority in the fields of the first, and for the further ones no data and no steps. Number 0
 * gives *s. */
struct scenario scenario_of_call(const struct scenario *s, size_t n);
/* Whether a call of that stack is there. */
bool scenario_has_stack(const struct scenario *s, int64_t stack);
enum scenario_direction scenario_call_direction(const struct scenario *s, size_t n);
/* One way, added both ways for call n alone. */
ns_t scenario_call_extra_delay(const struct scenario *s, size_t n);
/* Which bottlenecks call n crosses: numbers first to last, from 0. */
void scenario_call_segments(const struct scenario *s, size_t n, size_t *first, size_t *last);
/* UDP port of call n at both ends. */
uint16_t scenario_call_port(size_t n);

/* Names of cross traffic, as keys and records have them: of long TCP flow i, of UDP. */
const char *scenario_tcp_name(size_t i);
const char *scenario_udp_name(enum scenario_direction d);
/* Ports of cross traffic: of long TCP flow i, short TCP flow i (0: also the listening port of all
 * where they share one), UDP of a direction. */
uint16_t scenario_tcp_port(size_t i);
uint16_t scenario_short_tcp_port(size_t i);
uint16_t scenario_udp_port(enum scenario_direction d);
/* As agents and the kernel call it: "reno", "cubic", "bbr". */
const char *scenario_control_name(int64_t control);

/* The rates of a UDP flow until the run's end, also of a file that begins anew: how many there are,
 * of which out has the first, at time 0, and up to SCENARIO_UDP_STEPS_MAX - 1 more; for what does
 * not fit, any number above that. */
#define SCENARIO_UDP_STEPS_MAX (AGENT_STEPS_MAX + 1)
size_t scenario_udp_steps(const struct scenario *s, enum scenario_direction d,
                          struct rate_step out[SCENARIO_UDP_STEPS_MAX]);
/* What an agent of the UDP traffic of that direction is told, but for addresses. */
struct agent_config scenario_udp_config(const struct scenario *s, enum scenario_direction d,
                                        int64_t role);

/* Whether the way back has a rate of its own (path.back.rate). */
bool scenario_back_rate_is_own(const struct scenario *s);
/* The rate of one direction of the first bottleneck over time; a constant rate is one step, for
 * which *one is the room. */
struct rate_schedule scenario_rate_schedule_of(const struct scenario *s, enum scenario_direction d,
                                               struct rate_step *one);
/* The rate of one direction at time 0, and its extremes. */
bps_t scenario_rate_of(const struct scenario *s, enum scenario_direction d);
bps_t scenario_rate_min_of(const struct scenario *s, enum scenario_direction d);
bps_t scenario_rate_max_of(const struct scenario *s, enum scenario_direction d);
bool scenario_rate_varies_of(const struct scenario *s, enum scenario_direction d);

#endif
