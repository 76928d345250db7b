--- @include "clock", "numbers", "register"
-- Sets sorted by when their members are due: `register_objects`, `take_due`.

-- Records objects to remove at a time, unless they are unregistered before.
-- KEYS: the clean-up list. ARGV: milliseconds from now, then objects.
register('register_objects', function(keys, args, remove_in_ms)
  local due = now_ms() + tonumber(remove_in_ms)
  for i = 2, #args do
    redis.call('ZADD', keys[1], due, args[i])
  end
  return #args - 1
end)

-- Leases due members, oldest first: those not removed by the end of the lease are due again.
-- An oversized member was forged by a tenant, and is removed.
-- KEYS: a set sorted by time (clean-up or outbox). ARGV: limit, MAX_TAKEN at most, lease in milliseconds.
local MAX_MEMBER_BYTES = 16 * 1024
local MAX_TAKEN = 200

-- What it writes is there already.
register('take_due', function(keys, limit, lease_ms)
  local now = now_ms()
  limit, lease_ms = bound(limit, MAX_TAKEN), bound(lease_ms, DAY_SECONDS * SECOND_MS)
  local taken, looked = {}, 0
  while looked < limit do
    local due = redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, math.min(READ_AT_ONCE, limit - looked))
    for _, member in ipairs(due) do
      if #member > MAX_MEMBER_BYTES then
        redis.call('ZREM', keys[1], member)
      else
        redis.call('ZADD', keys[1], now + lease_ms, member)
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
