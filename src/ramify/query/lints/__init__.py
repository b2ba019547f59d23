"""What people should look at: one module for each check, and this one list of them."""

from ramify.query.lints import cache, dear, ignored, looping, orphan, repeated, secret, stalled
from ramify.query.lints.check import Check

CHECKS: tuple[Check, ...] = (
    stalled.CHECK, looping.CHECK, ignored.CHECK, secret.CHECK, repeated.CHECK, cache.CHECK, dear.CHECK, orphan.CHECK,
)  # fmt: skip
BY_NAME = {check.name: check for check in CHECKS}
