/* SPDX-License-Identifier: Apache-2.0 */
/* References, and the view that the owner published last.
 *
 * A reader loads `latest` and then adds a reference. In between the owner may publish another view;
 * it must not give up the old one before that reference is there. So a reader counts itself in
 * `readers` while it does both. The owner first swaps `latest`, then loads `readers`; all of these
 * operations are sequentially consistent. If the owner finds 0, each reader either has left, and
 * its reference is seen (release -> acquire), or counts itself later, and then loads the new view.
 * Otherwise the owner keeps the old view for its next call. Neither side ever waits. */
#include "sched/view/view_in.h"

gang_view *gang_view_ref(gang_view *view)
{
    if (view)
        gang__add_relaxed(&view->refs, 1);
    return view;
}

void gang_view_unref(gang_view *view)
{
    /* It pairs with itself in other threads: all reads of theirs come before the release. */
    if (!view || atomic_fetch_sub_explicit(&view->refs, 1, memory_order_acq_rel) > 1)
        return;
    struct gang_mem mem = view->mem;
    gang__release(&mem, view);
}

gang_view *gang_sched_latest_view(gang_sched *sched)
{
    if (!sched)
        return NULL;
    gang__add_seq(&sched->view.readers, 1);
    gang_view *view = gang__load_seq(&sched->view.latest);
    gang__hook(GANG__STEP_VIEW);
    (void)gang_view_ref(view);
    gang__sub_release(&sched->view.readers, 1);
    return view;
}

static void free_retired(gang_sched *s)
{
    while (s->view.retired) {
        gang_view *view = s->view.retired;
        s->view.retired = view->older;
        gang_view_unref(view);
    }
}

static void replace(gang_sched *s, gang_view *view)
{
    /* It pairs with the load of a reader, see above. */
    gang_view *old = atomic_exchange_explicit(&s->view.latest, view, memory_order_seq_cst);
    if (old) {
        old->older = s->view.retired;
        s->view.retired = old;
    }
    if (gang__load_seq(&s->view.readers) == 0)
        free_retired(s);
}

gang_result gang_sched_publish_view(gang_sched *sched, struct gang_error *error)
{
    gang_view *view;
    gang_result r = gang_sched_view(sched, &view, error);
    if (r == GANG_OK)
        replace(sched, view);
    return r;
}

void gang__views_free(gang_sched *s)
{
    replace(s, NULL);
}
