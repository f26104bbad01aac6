-- take decides all charges at once.
--
-- KEYS: one a charge. ARGV[1]: clock:7 (0: Redis's own), then for each charge kind:1 (the algorithm, + 16 for a
-- shadow), limit:6, window or refill:6, cost:6 (limit + 1 stands for anything more). ARGV[1 + i]: the charge's longest
-- time to live in milliseconds, as text, because Lua is slow at writing numbers.
--
-- The answer is one string with, for each charge, status:1 remaining:6 wait:6 retry:6 receipt:8 (0: none recorded).
-- include start.lua
local DENIED, FITS, FAULT = 0, 1, 2

local charges, fits = {}, true
for i = 1, #KEYS do
  local kind, limit, span, cost = parse('>BI6I6I6', ARGV[1], 19 * i - 11)
  local enforced, status = true, FITS
  if kind >= 16 then
    kind, enforced = kind - 16, false
  end
  -- include judge.lua
  if not used then
    status, used = FAULT, limit
  elseif cost > 0 and cost > limit - used then
    status = DENIED
    fits = fits and not enforced
  end
  charges[i] = { status, kind, limit, span, cost, used, wait, retry, a, b, mark, stepped, v }
end

local answer = ''
for i = 1, #KEYS do
  local charge = charges[i]
  local status, kind, limit, span, cost, used = charge[1], charge[2], charge[3], charge[4], charge[5], charge[6]
  local wait, a, b, mark = charge[7], charge[9], charge[10], charge[11]
  local key, ttl, at, first_wait = KEYS[i], ARGV[1 + i], 0, 0
  if fits and status == FITS and cost > 0 then
    -- include record.lua
    at, wait, used = now, used > 0 and wait or first_wait, used + cost
  elseif charge[13] then
    -- Nothing changes, but a step of the clock has to be remembered, and a time to live that is missing or too long is
    -- set right. A value of another shape is let go in time, too.
    local left = call('PTTL', key)
    if charge[12] then
      cost = 0
      -- include record.lua
    elseif left < 0 or left > ttl + 0 then
      call('PEXPIRE', key, ttl)
    end
  end
  answer = answer .. pack('>BI6I6I6I7B', status, limit > used and limit - used or 0, wait, charge[8], at, at > 0 and mark or 0)
end
return answer
