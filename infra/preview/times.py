"""Times for people: how long, how long ago, and when, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def span(time: timedelta) -> str:
    """`40 s`, `5 min`, `3 h 10 min`, `2 d 4 h`: two units at most, and nothing below zero."""
    seconds = max(0, int(time.total_seconds()))
    if seconds < 90:
        return f"{seconds} s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, left = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {left} min" if left else f"{hours} h"
    days, left = divmod(hours, 24)
    return f"{days} d {left} h" if left else f"{days} d"


def ago(at: datetime, now: datetime) -> str:
    return f"{span(now - at)} ago" if at <= now else f"in {span(at - now)}"


def clock(at: datetime, now: datetime) -> str:
    """The time of day, with the date where it is not today's."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M}"


def due(at: datetime, now: datetime) -> str:
    """By when something is over: seconds count as a minute, for at 18:03:09 nothing waits until 18:03."""
    return clock(at + timedelta(minutes=1, microseconds=-1), now)


def since(at: datetime | None, now: datetime) -> str:
    """`since 12:03, 5 min`; where nobody knows it, nothing."""
    return f"since {clock(at, now)}, {span(now - at)}" if at else ""
