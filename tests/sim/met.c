// SPDX-License-Identifier: MIT
/*
 * Which pairs of state and event a hunt has met, for --coverage: the tables of
 * docs/PROTOCOL.md, seen from outside.  All messages of a packet count for the
 * states before the packet; those of a packet that came before count for nothing.
 */
#include <stdio.h>
#include "sim.h"

/* A VQP, or what stands for it; then an association's path. */
enum row { NONE, CONNECTING, ACCEPTING, OPEN, SHUT, PEER_SHUT, BOTH_SHUT, ORPHAN,
	   TOMB_CLOSED, TOMB_RST, PATH_NONE, PATH_PROBING, PATH_READY, NR_ROWS };

static const char *const rows[NR_ROWS] = {
	"none", "CONN", "ACCEPT", "OPEN", "shut", "peer sh", "both sh", "orphan",
	"t CLOSED", "t RST", "NONE", "PROBING", "READY",
};

static const char *const events[SIM_MET_NR] = {
	[KR_MSG_CONNECT] = "CONNECT", "ACCEPT", "REJECT", "CANCEL", "DATA", "WINDOW", "RST",
	"CLOSED", "GONE", "PATH_REQ", "PATH_REP", "DATA with FIN", "WINDOW with PROBE",
	"WINDOW with AGAIN", "any packet", "PATH_REQ too late", "other id, -EEXIST",
	"other id, -ENOTCONN", "other id, -ESTALE", "hello: path start",
	"hello: other instance", "path lost", "association ends", "user shuts down",
	"user closes", "user aborts", "user sets options", "time to give up",
	"time of silence", "time of keepalive", "time of CONNECT", "time of probe",
	"path FAILED", "path SILENT",
};

static u64 (*met)[NR_ROWS];		/* shared by processes; NULL: not wanted */

void sim_met_start(void)
{
	met = sim_shared(SIM_MET_NR * sizeof(met[0]));
}

static void count(u32 event, enum row row)
{
	__atomic_fetch_add(&met[event][row], 1, __ATOMIC_RELAXED);
}

static enum row vqp_row(const struct kr_vqp *v)
{
	bool is_shut = v->tx.is_fin, is_peer_shut = kr_rx_is_fin(&v->rx);

	if (v->state == KR_VQP_CONNECTING)
		return CONNECTING;
	if (v->state == KR_VQP_ACCEPTING)
		return ACCEPTING;
	if (v->state != KR_VQP_OPEN)
		return NONE;
	if (v->is_orphan)
		return ORPHAN;
	return is_shut ? (is_peer_shut ? BOTH_SHUT : SHUT) : is_peer_shut ? PEER_SHUT : OPEN;
}

static enum row tomb_row(const struct kr_tomb *t)
{
	return t->code ? TOMB_RST : TOMB_CLOSED;
}

/* CONNECT and CANCEL name the client's VQP alone. */
static enum row row_by_src(const struct kr_assoc *a, u64 src)
{
	const struct kr_vqp *v;
	const struct kr_tomb *t;

	list_for_each_entry(v, &a->vqps, node)
		if (v->is_server && v->peer_id == src)
			return vqp_row(v);
	list_for_each_entry(t, &a->tombs, node)
		if (t->peer_id == src)
			return tomb_row(t);
	return NONE;
}

static enum row row_of(const struct kr_assoc *a, const struct kr_msg *m)
{
	const struct kr_slot *s = kr_table_find(&a->table, m->dst);
	const struct kr_vqp *v;

	if (m->type == KR_MSG_CONNECT || m->type == KR_MSG_CANCEL)
		return row_by_src(a, m->src);
	if (!s)
		return NONE;
	if (s->kind == KR_SLOT_TOMB)
		return tomb_row(s->obj);
	v = s->obj;
	return !v->peer_id || v->peer_id == m->src || m->type == KR_MSG_REJECT ?
	       vqp_row(v) : NONE;
}

static u32 event_of(const struct kr_msg *m)
{
	if (m->type == KR_MSG_DATA && m->flags & KR_MF_FIN)
		return SIM_MET_FIN;
	if (m->type == KR_MSG_WINDOW && m->flags)
		return m->flags & KR_MF_PROBE ? SIM_MET_PROBE : SIM_MET_AGAIN;
	return m->type;
}

void sim_met_packet(const struct kr_assoc *a, const struct kr_packet *p)
{
	const u8 *at = p->body, *end = at + p->hdr.body_len;
	struct kr_msg m;

	if (!met || (p->hdr.pn && kr_channel_is_known(&a->ch, p->hdr.pn)))
		return;
	count(SIM_MET_PACKET, PATH_NONE + a->path);
	while (at != end && kr_wire_get_msg(&at, end, &m)) {
		if (m.type == KR_MSG_PATH_REP)
			count(m.type, PATH_NONE + a->path);
		else if (m.type >= KR_MSG_CONNECT && m.type <= KR_MSG_CLOSED)
			count(event_of(&m), row_of(a, &m));
	}
}

void sim_met_vqp(const struct kr_vqp *v, u32 event)
{
	if (met)
		count(event, vqp_row(v));
}

void sim_met_assoc(const struct kr_assoc *a, u32 event)
{
	const struct kr_vqp *v;
	const struct kr_tomb *t;

	if (!met)
		return;
	count(event, PATH_NONE + a->path);
	list_for_each_entry(v, &a->vqps, node)
		count(event, vqp_row(v));
	list_for_each_entry(t, &a->tombs, node)
		count(event, tomb_row(t));
}

void sim_met_timeout(const struct kr_vqp *v, u64 now)
{
	const struct kr_vqp_opts *o = &v->opts;
	u64 patience = o->user_timeout_ns ? v->moved_ns + o->user_timeout_ns :
					    v->alive_ns + KR_SILENCE_NS;

	if (v->give_up_ns && now >= v->give_up_ns)
		sim_met_vqp(v, SIM_MET_GIVE_UP);
	else if (kr_tx_has_unaccepted(&v->tx) && now >= patience)
		sim_met_vqp(v, SIM_MET_SILENCE);
	else if (v->retry_ns && now >= v->retry_ns)
		sim_met_vqp(v, SIM_MET_RETRY);
	else if (v->probe_ns && now >= v->probe_ns)
		sim_met_vqp(v, SIM_MET_PROBE_TIME);
	else if (o->keep_idle_ns && v->state == KR_VQP_OPEN &&
		 now >= v->alive_ns + o->keep_idle_ns + v->keep_count * o->keep_intvl_ns)
		sim_met_vqp(v, SIM_MET_KEEPALIVE);
}

void sim_met_print(void)
{
	char nr[24];
	u32 e, r;

	if (!met)
		return;
	printf("%-22s", "");
	for (r = 0; r < NR_ROWS; r++)
		printf(" %9s", rows[r]);
	for (e = KR_MSG_CONNECT; e < SIM_MET_NR; e++) {
		printf("\n%-22s", events[e]);
		for (r = 0; r < NR_ROWS; r++) {
			snprintf(nr, sizeof(nr), "%lu", (unsigned long)met[e][r]);
			printf(" %9s", met[e][r] ? nr : "-");
		}
	}
	printf("\n");
}
