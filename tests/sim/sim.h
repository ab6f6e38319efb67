/* SPDX-License-Identifier: MIT */
/*
 * A simulation of krcore: N hosts with an association for each pair that talks,
 * in virtual time on a faulty network.  One seed decides everything.
 *
 *   main     options
 *   hunt     many seeds in several processes, and what it says meanwhile
 *   shrink   the shortest run that still fails
 *   run      of one seed: work, drain, idle, end
 *   config   the seed's profile: which faults, how much work
 *   event    what happens next
 *   map      objects by number
 *   pool     blocks of memory that come and go all the time
 *   net      packets between hosts: rate, delay, loss, duplication, partition
 *   hello    who is there, asked and answered
 *   lane     reliable carriers of associations, and how they die
 *   host     what the kernel glue does: associations, paths, slots, GONE
 *   user     what programs do: connect, write, read, shutdown, close
 *   clock    hosts that stand still, clocks that jump, timers that are late
 *   stale    packets that come again much later
 *   forge    packets of a third host, and of another version
 *   wrap     starts near a wrap of some number
 *   fault    partitions, reboots, lost paths, memory and slots that run out
 *   check    what must hold, known independently of core
 *   met      which pairs of state and event were met
 *   flow     scenarios in which time is measured: see flow.h
 *   trace    packets in words, and a digest of the run
 */
#ifndef KRCORE_SIM_SIM_H
#define KRCORE_SIM_SIM_H

#include "core/assoc.h"
#include "core/drive.h"
#include "core/wire.h"
#include "prng.h"

enum {
	SIM_HOSTS_MAX = 1000,
	SIM_PACKET_MAX = 4096,
	SIM_OLD_MAX = 256,		/* packets kept to come again */
	SIM_STRANGE_MAX = 32,		/* bytes that another version adds */
};

#define SIM_START_NS KR_SEC		/* when a run begins: time is never 0 */
#define SIM_WORKER_NS (50 * KR_USEC)	/* until a worker runs */

/* No queue pairs: datagrams of the hello. */
enum { SIM_QPN_ASK, SIM_QPN_ANSWER, SIM_QPN_MIN };

struct sim;
struct sim_host;
struct sim_assoc;

/* How much of everything; times in ns, chances per million. */
struct sim_cfg {
	u64 hosts, conns;
	u64 work_ns, stream_max, chunk_max, think_ns, rx_limit, tx_limit;
	u64 user_timeout_ns, host_timeout_ns, give_up_ns, backlog;
	u64 hold, keepalive, close_early, abort, stall, reject, cork, resize;
	u64 mtu, delay_ns, jitter_ns, rate, queue;
	u64 in_rate, in_queue;		/* shared by all who send to a host; 0: none */
	u64 loss, burst, holes, dup, reorder, flips;
	u64 partitions, outage_ns, reboots, drops, path_losses, slots, slot_stops, nomem;
	u64 corrupt, strange, stale, forged, wrap, storm, leave;
	u64 pauses, pause_ns, jumps, jump_ns, late_ns;
	u64 rash, options, unlistens;
	u64 local;			/* connections within a host */
	u64 lanes, lane_deaths;		/* asked for; chance for each packet on one */
	u64 small_tables;		/* 1: an association has few VQP slots */
	u64 faults, skip;		/* the first ones happen; a bit for each that does not */
	u64 last;			/* 0: no connections at the end */
};

/* event.c */
typedef void (*sim_fn)(struct sim *s, void *obj, u64 arg);

struct sim_event {
	sim_fn fn;
	void *obj;
	u64 arg;
	struct sim_host *host;		/* waits while this one is paused; NULL: no host's */
	bool is_owner;			/* obj is freed with the event */
	u32 next_free;			/* + 1, of a place that holds none */
};

struct sim_due {
	u64 when;
	u32 place;			/* in sim_heap.events */
};

struct sim_bucket {
	struct sim_due *at;
	u32 nr;
	u32 max;
};

struct sim_heap {
	u64 last;			/* the time of those in bucket 0 */
	u64 used;			/* a bit for each bucket from 1 on */
	struct sim_bucket buckets[65];
	u32 nr_done;			/* of bucket 0 */
	struct sim_event *events;
	u32 nr_places;			/* of events */
	u32 max;
	u32 free;			/* the first free place + 1 */
};

void sim_at(struct sim *s, u64 when, sim_fn fn, void *obj, u64 arg);
/* What @h does or meets: it waits while @h is paused. */
void sim_host_at(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg);
/* obj is from sim_pool_get() and goes back after fn. */
void sim_host_at_owned(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg);
bool sim_step(struct sim *s, u64 until);
void sim_heap_clean(struct sim *s);

/* map.c */
struct sim_map_slot {
	u64 key;			/* 0: free */
	void *obj;
};

struct sim_map {
	struct sim_map_slot *at;
	u64 nr;
	u64 max;			/* a power of 2 */
};

/* NULL: no such key. */
void *sim_map_get(const struct sim_map *m, u64 key);
/* The key must not be there. */
void sim_map_add(struct sim_map *m, u64 key, void *obj);
/* The key must be there. */
void sim_map_remove(struct sim_map *m, u64 key);
void sim_map_clean(struct sim_map *m);

/* pool.c; ends the program without memory. */
void *sim_pool_get(size_t size);
void sim_pool_put(void *p);

/* env.c: the memory of core */
struct sim_env {
	u64 nr_blocks;
	u64 nr_pages;
	u64 nr_failed;
	u32 fail;			/* ppm */
	const void *poor;		/* whose buffers get no page */
	bool has_small_tables;		/* none grows any more */
	struct sim_prng rng;
};

extern struct sim_env sim_env;

/* net.c */
struct sim_packet {
	u32 len;
	u32 qpn;
	struct sim_peer *peer;		/* the sender's */
	u8 bytes[];
};

struct sim_link {
	u64 free_ns;			/* the bottleneck is busy until then */
	u64 blocked_ns;			/* partitioned until then */
	u64 extra_ns;			/* beside the delay of all */
	u32 burst_left;			/* packets to lose */
	u64 burst_ns;			/* and until then */
	u32 holes_left;			/* packets of which half are lost */
};

enum { SIM_FRAMING = 60 };		/* bytes of a packet on the wire beside ours */

/* Does this packet get lost? */
typedef bool (*sim_drop_fn)(struct sim *s, u32 from, const u8 *p, u32 len);

void sim_net_send(struct sim *s, u32 from, u32 to, u32 qpn, const u8 *p, u32 len);
/* Bytes in front of the host's shared bottleneck. */
u64 sim_net_queued(const struct sim_host *h);
/* The packet arrives at once.  @is_checked: it is for no VQP but those of @from. */
void sim_net_inject(struct sim *s, u32 from, u32 to, const u8 *bytes, u32 len,
		    bool is_checked);

/* lane.c */
enum sim_lane_state {
	SIM_LANE_PLANNED,		/* packets that come wait until it is open */
	SIM_LANE_OPEN,
	SIM_LANE_CLOSED,
};

/* What one host has of a lane. */
struct sim_lane_end {
	struct kr_lane l;
	struct sim_lane *lane;
	struct sim_peer *peer;
	struct sim_assoc *as;		/* while it is open */
	u64 assoc_nr;
	enum sim_lane_state state;
	struct kr_lane_terms terms;
	u32 nr_slots, nr_busy;
	bool is_starved;
	bool is_taking;			/* core takes a packet right now */
	bool is_gone;			/* nothing that it sends arrives any more */
	u64 free_ns;			/* its device is busy until then */
	u64 stall_ns;			/* nothing that it sends arrives until then */
	u64 arrive_ns;			/* when its last packet does */
	u64 pn;				/* the last number that it sent */
	u64 heard;			/* the last acknowledgement that came */
	struct list_head coming;	/* packets that are under way to it */
	u32 nr_early;			/* of them came before it was open */
};

struct sim_lane {
	u32 nr;
	struct sim_lane *next;
	struct sim_lane_end ends[2];
};

void sim_lanes_start(struct sim *s);
void sim_lanes_clean(struct sim *s);
/* Both ends, at once, with all that is allowed. */
struct sim_lane *sim_lane_open(struct sim_peer *p, bool is_last);
/* Nothing that end @from sends arrives any more, or for @ns. */
void sim_lane_silence(struct sim_lane *lane, u32 from);
void sim_lane_stall(struct sim_lane *lane, u32 from, u64 ns);
/* What is under way is lost, and both ends are told. */
void sim_lane_cut(struct sim_lane *lane);
/* The way of the association's packets is gone, and of some lanes as well. */
void sim_lanes_broken(struct sim_assoc *as);
/* The association ends: its lanes are closed. */
void sim_lanes_end(struct sim_assoc *as);
/* A part of struct kr_ops. */
void sim_lane_failed(struct kr_assoc *a, struct kr_lane *l);

/* stale.c */
void sim_stale_keep(struct sim *s, const struct sim_packet *p);
void sim_stale_start(struct sim *s);
void sim_stale_clean(struct sim *s);

/* forge.c */
void sim_forge_start(struct sim *s);
/* The packet gets what only another version understands; its new length. */
u32 sim_forge_strange(struct sim *s, u8 *p, u32 len);

/* hello.c */
/* Asks who the peer is; an answer comes to sim_peer_prove(). */
void sim_hello_ask(struct sim_peer *p);
void sim_hello_receive(struct sim_host *h, u32 from, u32 qpn, const u8 *bytes, u32 len);

/* host.c */
/* One incarnation of an association. */
struct sim_assoc {
	struct kr_assoc a;
	struct sim_peer *peer;
	u64 nr;
	struct kr_path_msg taken;	/* the last PATH_REQ that was */
	struct list_head node;		/* sim_host.ending */
	int err;			/* for its VQPs */
};

/* What a host knows of another one, and the link to it; made when first used. */
struct sim_peer {
	struct sim_host *host;
	u32 to;
	struct sim_link link;
	struct list_head node;		/* sim_host.peers */
	struct list_head starved;	/* sim_host.starved: waits for a slot */
	struct sim_assoc *assoc;	/* NULL: none */
	u64 timer_ns;			/* by the host's clock */
	u64 check_ns;			/* when the peer is checked, 0: not planned */
	bool is_asking;			/* this question is open */
	struct kr_hello ask;
	u32 nr_asked;			/* copies of it */
	u64 nr_packets;			/* sent */
};

struct sim_host {
	struct sim *sim;
	u32 nr;
	u32 boots;
	u8 instance[16];
	u32 qpn;
	/* The queue pair of a device that goes still hands out what comes until then. */
	u32 old_qpn;
	u64 old_qp_ns;
	/* Send slots in use, until when; a ring in the order of time. */
	u64 *done_ns;
	u32 done_first;
	u32 nr_busy;
	bool is_wake_armed;
	u64 stop_ns;			/* no slots until then */
	u64 away_ns;			/* no device until then */
	u64 clock_ns;			/* its clock is ahead by that much */
	u64 paused_ns;			/* it stands still until then */
	bool is_hello_blocked;		/* none gets to it */
	struct kr_rate gone_rate;
	u32 backlog;			/* unconfirmed and not accepted yet */
	u64 in_free_ns;			/* its shared bottleneck is busy until then */
	u64 in_peak, in_lost;	/* bytes that were queued; packets lost there */
	struct list_head peers;		/* in the order made */
	struct list_head starved;
	struct list_head ending;	/* associations that have VQPs to end */
};

enum { SIM_CONTROL_SLOTS = 2 };

#define sim_for_each_peer(p, h) list_for_each_entry(p, &(h)->peers, node)

/* All hosts of the profile; sim_hosts_clean() ends their associations. */
void sim_hosts_start(struct sim *s);
void sim_hosts_clean(struct sim *s);
struct sim_peer *sim_peer(struct sim *s, u32 from, u32 to);
void sim_host_boot(struct sim_host *h, bool is_new_qp);
/* For @ns, then there is one with another queue pair; @old_qp_ns: as in sim_host. */
void sim_host_lose_device(struct sim_host *h, u64 ns, u64 old_qp_ns);
void sim_host_receive(struct sim_host *h, const u8 *bytes, u32 len);
void sim_host_end(const struct sim_host *h, struct kr_end *e);
/* What a hello answer of @h gives to who says that it is @instance. */
u64 sim_host_token(const struct sim_host *h, const u8 instance[16]);
/* The peer's hello says which instance it is: another one is gone. */
void sim_peer_is(struct sim_peer *p, const u8 instance[16]);
/* The peer is this host: makes the association that needs no path. */
void sim_peer_self(struct sim_peer *p);
/* The peer's hello names ends: makes an association and proves a path. */
void sim_peer_prove(struct sim_peer *p, const struct kr_hello *answer);
/* Sends what may go and sets the timer; after each call into core. */
void sim_peer_run(struct sim_peer *p);
/* The association ends here, its VQPs a little later; the peer learns it from GONE. */
void sim_peer_gone(struct sim_peer *p, int err);
/* All of the host's associations and VQPs end now. */
void sim_host_halt(struct sim_host *h, int err);
/* Something may have changed for the peer: a device came or went. */
void sim_peer_check(struct sim_peer *p);
void sim_host_tx_ready(struct sim *s, void *obj, u64 arg);
/* The clock has jumped: what is due now by it happens. */
void sim_host_rearm(struct sim_host *h);

/* clock.c: each host has a clock of its own, and core sees that one only */
u64 sim_clock(const struct sim_host *h);
/* @when by the clock of @h. */
void sim_timer(struct sim_host *h, u64 when, sim_fn fn, void *obj, u64 arg);
void sim_clock_start(struct sim *s);
/* When the last host that stands still goes on. */
u64 sim_clock_resumed(const struct sim *s);
/* Too little time is lost for any timeout of core. */
bool sim_clock_is_harmless(const struct sim_cfg *c);

/* user.c */
struct sim_vqp {
	struct kr_vqp v;
	struct sim_ep *ep;
};

/* One end of a connection and the program that uses it. */
struct sim_ep {
	struct sim_conn *conn;
	struct sim_ep *other_attempt;	/* server: VQPs of repeated CONNECTs */
	struct sim_host *host;
	struct sim_peer *peer;
	struct sim_vqp *sv;		/* NULL: freed */
	u64 nr;
	bool is_server;
	u64 key;			/* of the stream it writes */
	u64 rx_start;			/* first position of the one it reads */
	u64 total, written, read, abort_at;
	u64 accepted;			/* by the VQP, when it was released */
	u64 timer_ns;			/* by the host's clock */
	u64 stall_ns;
	u32 nr_timers;			/* fired */
	u32 held;			/* bytes a writer is filling */
	bool is_open, is_refused, is_ended, is_released, is_queued;
	bool is_shut, is_closed, is_eof, is_step_armed;
	bool has_unread;		/* when it was closed */
	enum kr_vqp_state end_state;
	int err;
};

struct sim_conn {
	struct sim *sim;
	u32 nr;
	u32 tries;
	bool is_holder;			/* stays open, idle, until told */
	u8 leaver;			/* but its client (1) or server (2) closes */
	bool is_unheard;		/* its listener closed */
	u64 start[2];			/* first position of client and server */
	bool is_waiting;		/* for an association, to connect */
	struct sim_ep *client;
	struct sim_ep *server;		/* the confirmed one */
	struct sim_ep *attempts;	/* all of the server */
	struct sim_host *from, *to;
};

extern const struct kr_ops sim_ops;

/* The part of struct kr_ops that is the host's. */
void sim_path_event(struct kr_assoc *a, enum kr_path_event event);
void sim_path_req(struct kr_assoc *a, const struct kr_path_msg *pm);

/* The part of sim_ops that is the user's. */
int sim_incoming(struct kr_assoc *a, const struct kr_connect *c, struct kr_vqp **out);
void sim_event(struct kr_vqp *v, u32 events);
void sim_released(struct kr_vqp *v);
void sim_arm(struct kr_vqp *v, u64 when);

void sim_user_start(struct sim *s);
void sim_user_clean(struct sim *s);
/* Of all VQPs of @h but those with host @but. */
u64 sim_user_digest(struct sim_host *h, u32 but);
/* Listeners of @h close, and come again at once. */
void sim_user_unlisten(struct sim_host *h);
/* As sim_host_rearm(). */
void sim_user_rearm(struct sim_host *h);
/* Everybody hurries: no stalls, holders finish when @is_all. */
void sim_user_drain(struct sim *s, bool is_all);
/*
 * One more connection for each pair of hosts, or for some when there are many.
 * The first round may only find out that an association is gone; did all of the
 * last one open?
 */
enum { SIM_LAST_ROUNDS = 2 };
void sim_user_last(struct sim *s, u32 round);
bool sim_user_has_last(const struct sim *s);
bool sim_user_is_done(struct sim *s, bool is_all);

/* fault.c */
void sim_fault_start(struct sim *s);
void sim_fault_stop(struct sim *s);
/* One that chance wants: counts it; false: the settings leave it out. */
bool sim_fault_counts(struct sim *s);
/* One for a packet: does it happen? */
bool sim_fault_hits(struct sim *s, u32 ppm);
/* @fn happens @nr times while programs work. */
void sim_fault_plan(struct sim *s, u64 nr, sim_fn fn);
struct sim_host *sim_any_host(struct sim *s);
/* One side of some connection: of many hosts most may have none. */
struct sim_peer *sim_any_peer(struct sim *s);

/* wrap.c */
void sim_wrap_assoc(struct sim *s, struct kr_assoc *a);
/* The position at which a stream starts. */
u64 sim_wrap_stream(struct sim *s);
void sim_wrap_clocks(struct sim *s);

/* check.c */
__attribute__((noreturn, format(printf, 2, 3)))
void sim_fail(const struct sim *s, const char *format, ...);
void sim_check_bounds(const struct sim *s, const struct sim_ep *ep);
void sim_check_bytes(const struct sim *s, struct sim_ep *ep, const u8 *p, u32 len);
/* The VQP is released: nobody before it had its id. */
void sim_check_id(struct sim *s, const struct sim_ep *ep);
void sim_check_eof(const struct sim *s, const struct sim_ep *ep);
void sim_check_opened(const struct sim *s, struct sim_ep *ep);
void sim_check_released(const struct sim *s, const struct sim_ep *ep);
void sim_check_end(const struct sim *s);
void sim_check_idle(struct sim *s, u64 window_ns);
/* @pm was taken: of the peer's same association, and of no end that the peer has left. */
void sim_check_path_req(const struct sim *s, struct sim_assoc *as,
			const struct kr_path_msg *pm);
void sim_check_quiet(const struct sim *s, u64 packets);
/* Prints the connections that are left. */
void sim_describe(const struct sim *s);
struct sim_ep *sim_ep_other(const struct sim_ep *ep);

/* met.c: messages have their own numbers; in the order of its names */
enum {
	SIM_MET_FIN = KR_MSG_TYPE_MAX + 1,
	SIM_MET_PROBE,
	SIM_MET_AGAIN,
	SIM_MET_PACKET,
	SIM_MET_TOO_LATE,
	SIM_MET_OTHER_VQPS,
	SIM_MET_OTHER_NO_PATH,
	SIM_MET_OTHER_STALE,
	SIM_MET_START,
	SIM_MET_OTHER_INSTANCE,
	SIM_MET_LOST,
	SIM_MET_END,
	SIM_MET_SHUTDOWN,
	SIM_MET_CLOSE,
	SIM_MET_ABORT,
	SIM_MET_OPTIONS,
	SIM_MET_GIVE_UP,
	SIM_MET_SILENCE,
	SIM_MET_KEEPALIVE,
	SIM_MET_RETRY,
	SIM_MET_PROBE_TIME,
	SIM_MET_FAILED,
	SIM_MET_SILENT,
	SIM_MET_NR
};

/* From now on they are counted. */
void sim_met_start(void);
/* The first three before the call into core. */
void sim_met_packet(const struct kr_assoc *a, const struct kr_packet *p);
void sim_met_timeout(const struct kr_vqp *v, u64 now);
void sim_met_vqp(const struct kr_vqp *v, u32 event);
/* For its path, its VQPs and its tombstones. */
void sim_met_assoc(const struct kr_assoc *a, u32 event);
void sim_met_print(void);

/* trace.c */
void sim_trace(struct sim *s, const char *what, u32 from, u32 to, const u8 *p,
	       u32 len);
__attribute__((format(printf, 2, 3)))
void sim_note(const struct sim *s, const char *format, ...);

/* flow.c: runs the families of scenarios named, or all; an exit status. */
int sim_scenarios(char **names, bool has_trace);

/* config.c */
void sim_cfg_draw(struct sim_cfg *cfg, u64 seed, bool has_flips, char **settings);
/* NULL: no such name. */
u64 *sim_cfg_at(struct sim_cfg *cfg, const char *name);
/* Of each in turn, then NULL. */
const char *sim_cfg_name(u32 nr);
enum { SIM_SETTINGS_MAX = 4096 };
/* " name=value" for those that the seed @profile draws otherwise; for all, if 0. */
char *sim_cfg_changes(const struct sim_cfg *cfg, u64 profile);

/* main.c */
struct sim_options {
	u64 seed;
	u64 nr_seeds;
	u64 profile;			/* the seed that draws it, 0: the run's own */
	u64 jobs;
	u64 seconds;			/* 0: no limit */
	bool is_traced;
	bool counts_lines;
	bool has_digest;
	bool has_flips;
	bool is_shrunk;
	bool keeps_going;		/* a seed that failed does not end the hunt */
	bool has_scenarios;
	bool has_coverage;
	const char *json;
	const char *program;		/* as it was called */
	char **settings;
};

/* What becomes of a run, in memory that processes share. */
struct sim_report {
	char said[240];			/* by sim_fail() */
	u64 lines;			/* of its trace */
	u64 nr_alike;			/* packets in a row that say nothing */
	u64 faults;			/* that chance wanted */
};

extern struct sim_report *sim_report;

/* A crash or a failed check prints the command that repeats the seed. */
void sim_note_command(const struct sim_options *o, u64 seed);
double sim_seconds(void);
/* Memory of zeroes for this process and those it forks. */
void *sim_shared(size_t size);

/* run.c */
void sim_run(struct sim *s, const struct sim_options *o, u64 seed,
	     const struct sim_cfg *cfg);

/* hunt.c and shrink.c: the exit status */
int sim_hunt(const struct sim_options *o);
int sim_shrink(const struct sim_options *o);

struct sim {
	u64 seed;
	u64 now;
	bool is_traced;
	bool counts_lines;		/* of the trace, printed or not */
	bool has_digest;
	u64 digest;			/* of all packets and events */
	bool is_draining;
	bool is_releasing;		/* holders finish */
	bool is_faulty;
	struct sim_cfg cfg;
	struct sim_prng rng;
	struct sim_heap heap;
	struct sim_packet *old[SIM_OLD_MAX];
	u64 nr_old;
	const struct kr_ops *ops;	/* whose programs run */
	sim_drop_fn drops;		/* NULL: only chance decides */
	struct sim_host *hosts;
	struct sim_lane *lanes;		/* all, the last one first */
	u32 nr_lanes;
	struct sim_map peers;		/* by both hosts */
	struct sim_map assocs;		/* by tag */
	struct sim_map ids;		/* of VQPs, with their association */
	struct sim_conn *conns;
	u64 nr_conns;			/* those of the profile and the last ones */
	u64 nr_last;			/* of one round */
	u32 undone;			/* a connection: see sim_user_is_done() */
	u64 nr_eps, nr_assocs, nr_questions;
	u64 nr_events, nr_packets, nr_delivered, nr_lost, nr_corrupt, nr_bytes, nr_read;
	u64 nr_open, nr_clean, nr_reset, nr_refused;
};

#endif
