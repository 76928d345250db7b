-- Leases due members, oldest first: those not removed by the end of the lease are due again.
-- An oversized member was forged by a tenant, and is removed.
-- KEYS: a set sorted by time (clean-up or outbox). ARGV: limit, 200 at most, lease in milliseconds.
local MAX_MEMBER_BYTES = 16 * 1024
local MAX_TAKEN = 200

-- What it writes is there already.
register_frugal('take_due', { least = 2, bytes = 1024 }, function(keys, args)
  local now = now_ms()
  local limit, lease = bound(args[1], MAX_TAKEN), bound(args[2], DAY_SECONDS * SECOND_MS)
  local taken, looked = {}, 0
  while looked < limit do
    local due = redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, math.min(READ_AT_ONCE, limit - looked))
    for _, member in ipairs(due) do
      if #member > MAX_MEMBER_BYTES then
        redis.call('ZREM', keys[1], member)
      else
        redis.call('ZADD', keys[1], now + lease, member)
        taken[#taken + 1] = member
      end
    end
    looked = looked + #due
    if #due < READ_AT_ONCE then
      break
    end
  end
  return taken
end)
