-- Takes members that are due, oldest first, for as long as a lease: what is not removed by then is due again.
-- A member that is longer than any of ours is a tenant's own making, and goes.
-- KEYS: a set sorted by time (clean-up or outbox). ARGV: limit, lease in milliseconds.
local LONGEST_MEMBER = 16 * 1024

register('take_due', function(keys, args)
  local now = now_ms()
  local due = redis.call('ZRANGE', keys[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, tonumber(args[1]))
  local taken = {}
  for _, member in ipairs(due) do
    if #member > LONGEST_MEMBER then
      redis.call('ZREM', keys[1], member)
    else
      redis.call('ZADD', keys[1], now + tonumber(args[2]), member)
      taken[#taken + 1] = member
    end
  end
  return taken
end)
