--- @include "budget", "clock", "numbers"
-- What a key has used, after it was used.
local COUNTER_SECONDS = 2 * DAY_SECONDS

-- Adds tokens to the key's UTC day, and millionths to what the workspace and the budgets have spent.
local function charge_usage(namespace, sha256, tokens, micros, budgets, now)
  if tokens ~= '0' then
    local key = tpd_key(namespace, sha256, math.floor(now / SECOND_MS / DAY_SECONDS))
    add_number(key, tokens)
    redis.call('EXPIRE', key, COUNTER_SECONDS)
  end
  if micros ~= '0' then
    add_number(credit_key(namespace), micros)
    spend_budgets(namespace, budgets, micros, now)
  end
end
