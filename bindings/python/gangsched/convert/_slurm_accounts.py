# SPDX-License-Identifier: Apache-2.0
"""The accounts of Slurm, as ``sacctmgr -P show assoc`` prints them, or ``sacctmgr dump`` writes
them: a queue for each account below each partition."""
from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Set, Tuple

from ._base import MAX_QUEUE_DEPTH, ConvertError, Json, Report, Source, integer, name, quote
from ._slurm_budgets import Budgets

#: Columns of the table, and options of the dump, that are read.
_READ = {"cluster", "account", "user", "partition", "share", "fairshare", "grptresmins",
         "par name"}
#: Columns and options that do not affect scheduling.
_ASIDE = {"description", "organization", "defaultaccount", "defaultwckey", "adminlevel",
          "coordinator", "lft", "rgt", "id", "parentid", "def qos", "defaultqos", "qos", "comment"}
_DUMPED = re.compile(r"\s*(Cluster|Parent|Account|User)\s+-\s+('[^']*'|\"[^\"]*\"|[^:\s]+)(.*)")
#: An option begins with a capital letter; so the colon of ``gres/gpu:a100`` is part of a value.
_OPTION = re.compile(r":([A-Z][A-Za-z]*)=((?:'[^']*'|\"[^\"]*\"|(?!:[A-Z][A-Za-z]*=).)*)")


class Row:
    """One association: of an account, or of a user in it."""

    def __init__(self, place: str, account: str, user: str, values: Dict[str, str]) -> None:
        self.place = place
        self.account = account
        self.user = user
        self.partition = values.get("partition", "")
        self.mins = values.get("grptresmins", "")
        text = values.get("share") or values.get("fairshare") or "1"
        if text.lower() == "parent":
            text = "1"
        #: what it has of its parent, as a weight
        self.share = integer("%s: Share" % place, text, 0, 10**6)

    def at(self, key: str) -> str:
        return "%s: %s" % (self.place, key)


class Accounts:
    """The tree of accounts."""

    def __init__(self) -> None:
        self.rows: Dict[str, Row] = {}  #: by account
        self.users: Dict[str, List[Row]] = {}  #: by account
        self.above: Dict[str, str] = {}  #: the account above; "": it is at the top

    def add(self, row: Row, parent: str) -> None:
        if row.user:
            self.users.setdefault(row.account, []).append(row)
            return
        if row.account in self.rows:
            raise ConvertError(row.at("Account"), "account %s is there twice" % quote(row.account))
        self.rows[row.account] = row
        self.above[row.account] = "" if parent in ("", "root") else parent

    def check(self) -> None:
        for account, row in self.rows.items():
            seen: Set[str] = set()
            at = account
            while at:
                if at in seen or len(seen) >= MAX_QUEUE_DEPTH - 2:
                    raise ConvertError(row.at("Account"), "its own ancestor, or below too many")
                if at not in self.rows:
                    raise ConvertError(row.at("Account"), "no account %s above it" % quote(at))
                seen.add(at)
                at = self.above[at]
        for account, users in self.users.items():
            if account not in self.rows:
                raise ConvertError(users[0].at("User"), "no account %s" % quote(account))

    def listed(self) -> List[str]:
        """All accounts but the root, each after the one above it."""
        out: List[str] = []
        left = [account for account in self.rows if account != "root"]
        while left:
            ready = [a for a in left if not self.above[a] or self.above[a] in out]
            out += ready
            left = [account for account in left if account not in ready]
        return out


def looks_like(text: str) -> bool:
    """Whether the text is a table or a dump of associations."""
    if re.search(r"(?m)^\s*Cluster\s+-\s+\S", text):
        return True
    head = text.lstrip("\ufeff \t\n").split("\n", 1)[0].lower().split("|")
    return "account" in head and ("user" in head or "cluster" in head)


def read_accounts(source: Source, into: Accounts, report: Report) -> None:
    """Add the associations of a table or a dump."""
    if re.search(r"(?m)^\s*Cluster\s+-\s+\S", source.text):
        _read_dump(source, into, report)
    else:
        _read_table(source, into, report)


def _read_table(source: Source, into: Accounts, report: Report) -> None:
    lines = [(at, line) for at, line in enumerate(source.text.split("\n"), 1) if line.strip()]
    if not lines:
        raise ConvertError(source.name, "no columns: empty")
    headings = [word.strip().lower() for word in lines[0][1].split("|")]
    if headings.count("account") != 1:
        raise ConvertError("%s:%d" % (source.name, lines[0][0]), "no column account")
    rows: List[Tuple[str, Dict[str, str]]] = []
    for at, line in lines[1:]:
        place = "%s:%d" % (source.name, at)
        words = [word.strip() for word in line.split("|")]
        if len(words) != len(headings):
            raise ConvertError(place, "%d columns, not %d" % (len(words), len(headings)))
        rows.append((place, dict(zip(headings, words))))
    clusters = {row.get("cluster", "") for _, row in rows}
    if len(clusters) > 1:
        raise ConvertError(source.name, "several clusters: %s" % ", ".join(sorted(clusters)[:5]))
    for place, row in rows:
        account = name("%s: Account" % place, row["account"], "account")
        into.add(Row(place, account, row.get("user", ""), row), row.get("par name", ""))
    if "par name" not in headings:
        report.warn(
            "%s:%d" % (source.name, lines[0][0]),
            "no column Par Name (format=...,ParentName): all accounts are children of the root",
        )
    _aside(source, [row for _, row in rows], report)


def _read_dump(source: Source, into: Accounts, report: Report) -> None:
    parent: Optional[str] = None
    seen: List[Dict[str, str]] = []
    for at, line in enumerate(source.text.split("\n"), 1):
        place = "%s:%d" % (source.name, at)
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _DUMPED.fullmatch(line.rstrip())
        rest = match.group(3) if match else ""
        if match is None or _OPTION.sub("", rest).strip():
            raise ConvertError(place, "not a line of a dump: %s" % quote(line.strip()))
        kind, word = match.group(1), match.group(2).strip("'\"")
        values = {key.lower(): text.strip("'\"") for key, text in _OPTION.findall(rest)}
        seen.append(values)
        if kind == "Parent":
            parent = word
        elif kind == "Cluster":
            into.add(Row(place, "root", "", values), "")
        elif parent is None:
            raise ConvertError(place, "no Parent before it")
        elif kind == "Account":
            into.add(Row(place, name(place, word, "account"), "", values), parent)
        else:
            into.add(Row(place, parent, name(place, word, "user"), values), parent)
    _aside(source, seen, report)


def _aside(source: Source, rows: Sequence[Dict[str, str]], report: Report) -> None:
    """Warn of columns with values that are not read."""
    for key in sorted({key for row in rows for key, value in row.items() if key and value}):
        if key in _ASIDE:
            report.aside(source.name, key)
        elif key not in _READ:
            report.warn("%s: %s" % (source.name, key), "no counterpart: this limit is not read")


# ---- queues ----------------------------------------------------------------------------------


def put_accounts(queue: Json, of_leaves: Json, accounts: Accounts, budgets: Budgets) -> List[Json]:
    """The queues of all accounts below the queue of a partition; `of_leaves` are members that only
    leaves have."""
    root = accounts.rows.get("root")
    if root is not None and root.mins:
        queue.setdefault("budgets", []).extend(budgets.of(root.at("GrpTRESMins"), root.mins))
        if not queue["budgets"]:
            del queue["budgets"]
    inner = set(accounts.above.values())
    out: List[Json] = []
    for account in accounts.listed():
        row = accounts.rows[account]
        above = accounts.above[account]
        made: Json = {
            "name": "%s.%s" % (queue["name"], account),
            "parent": "%s.%s" % (queue["name"], above) if above else queue["name"],
            "weight": row.share,
        }
        if account not in inner:
            made.update(of_leaves)
            weights = {each.user: each.share for each in accounts.users.get(account, [])
                       if each.share > 1}
            if weights:
                made["users"] = weights
        elif account in accounts.users:
            budgets.report.warn(
                accounts.users[account][0].at("User"),
                "account %s has accounts below it: its own jobs have no queue" % quote(account),
            )
        made["budgets"] = budgets.of(row.at("GrpTRESMins"), row.mins) if row.mins else []
        made["budgets"] += _of_users(account, accounts.users.get(account, []), budgets)
        if not made["budgets"]:
            del made["budgets"]
        out.append(made)
    return out


def _of_users(account: str, users: Sequence[Row], budgets: Budgets) -> List[Json]:
    """Budgets of the users, if all have the same."""
    given = [row for row in users if row.mins]
    if not given:
        return []
    if len(given) < len(users) or len({row.mins for row in given}) > 1:
        budgets.report.warn(
            given[0].at("GrpTRESMins"),
            "no counterpart: users of account %s have different budgets" % quote(account),
        )
        return []
    return budgets.of(given[0].at("GrpTRESMins"), given[0].mins, per_user=True)
