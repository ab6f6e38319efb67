// SPDX-License-Identifier: GPL-2.0
/* TEMPORARY, to be replaced: a host gets one RC queue pair after 1 MiB of bulk. */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "carrier.h"
#include "host.h"
#include "pool.h"
#include "rc.h"

struct ask {
	struct work_struct work;
	struct kr_host *host;
};

static struct workqueue_struct *ask_wq;

static void ask_work_fn(struct work_struct *work)
{
	struct ask *ask = container_of(work, struct ask, work);

	kr_rc_ask(ask->host);
	kr_host_put(ask->host);
	kfree(ask);
}

void kr_pool_look(struct kr_host *host)
{
	struct ask *ask;

	if (host->assoc.bulk_bytes < 1 << 20 || !list_empty(&host->carriers) ||
	    host->assoc.is_ended || host->assoc.is_loop)
		return;
	host->assoc.bulk_bytes = 0;
	ask = kmalloc(sizeof(*ask), GFP_ATOMIC);
	if (!ask)
		return;
	INIT_WORK(&ask->work, ask_work_fn);
	refcount_inc(&host->ref);
	ask->host = host;
	queue_work(ask_wq, &ask->work);
}

bool kr_pool_may_accept(struct kr_host *host)
{
	return true;
}

void kr_pool_rc_made(struct kr_host *host)
{
}

void kr_pool_rc_failed(struct kr_host *host, bool is_asked)
{
}

void kr_pool_rc_ended(struct kr_host *host)
{
}

int kr_pool_init(void)
{
	ask_wq = alloc_workqueue("krcore_pool", WQ_UNBOUND, 0);
	return ask_wq ? 0 : -ENOMEM;
}

void kr_pool_exit(void)
{
	destroy_workqueue(ask_wq);
}
