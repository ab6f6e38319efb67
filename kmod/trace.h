/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace points, under events/krcore in tracefs.  Off they cost nothing; a
 * caller that must work for an argument asks trace_kr_x_enabled() first.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM krcore

#if !defined(KRCORE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KRCORE_TRACE_H

#include <linux/tracepoint.h>
#include "core/state.h"
#include "stats.h"

/* A VQP's state changes; @cause in a word or two. */
TRACE_EVENT(kr_vqp_state,
	TP_PROTO(u64 vqp, enum kr_vqp_state from, enum kr_vqp_state to,
		 const char *cause),
	TP_ARGS(vqp, from, to, cause),
	TP_STRUCT__entry(
		__field(u64, vqp)
		__string(from, kr_vqp_state_name(from))
		__string(to, kr_vqp_state_name(to))
		__string(cause, cause)
	),
	TP_fast_assign(
		__entry->vqp = vqp;
		__assign_str(from, kr_vqp_state_name(from));
		__assign_str(to, kr_vqp_state_name(to));
		__assign_str(cause, cause);
	),
	TP_printk("vqp %llx %s -> %s (%s)", __entry->vqp, __get_str(from),
		  __get_str(to), __get_str(cause))
);

/* A socket (inode 0: not accepted yet) uses TCP; ports in host byte order. */
TRACE_EVENT(kr_fallback,
	TP_PROTO(u64 inode, u16 sport, u16 dport, enum kr_reason reason),
	TP_ARGS(inode, sport, dport, reason),
	TP_STRUCT__entry(
		__field(u64, inode)
		__field(u16, sport)
		__field(u16, dport)
		__string(reason, kr_reason_token(reason))
	),
	TP_fast_assign(
		__entry->inode = inode;
		__entry->sport = sport;
		__entry->dport = dport;
		__assign_str(reason, kr_reason_token(reason));
	),
	TP_printk("inode %llu ports %u -> %u: %s", __entry->inode,
		  __entry->sport, __entry->dport, __get_str(reason))
);

/* The path of the host whose instance begins with @host. */
TRACE_EVENT(kr_path,
	TP_PROTO(u64 host, enum kr_path_state state),
	TP_ARGS(host, state),
	TP_STRUCT__entry(
		__field(u64, host)
		__string(state, kr_path_state_name(state))
	),
	TP_fast_assign(
		__entry->host = host;
		__assign_str(state, kr_path_state_name(state));
	),
	TP_printk("host %016llx %s", __entry->host, __get_str(state))
);

/* An RC queue pair or TCP connection to that host is in use, or not any more. */
TRACE_EVENT(kr_carrier,
	TP_PROTO(u64 host, const char *kind, bool is_open),
	TP_ARGS(host, kind, is_open),
	TP_STRUCT__entry(
		__field(u64, host)
		__string(kind, kind)
		__field(bool, is_open)
	),
	TP_fast_assign(
		__entry->host = host;
		__assign_str(kind, kind);
		__entry->is_open = is_open;
	),
	TP_printk("host %016llx %s %s", __entry->host, __get_str(kind),
		  __entry->is_open ? "opened" : "ended")
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
