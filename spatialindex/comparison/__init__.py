"""Comparing structures on a recording: play, check, time, say why.

`runner` holds `compare`, the way in. A comparison goes through

1. `contestants`: which structures, with which parameters, and one that does nothing;
2. `warm`: the first calls, which compile, timed apart;
3. `verification`: every answer against the oracle, within a budget of work that is counted;
4. `timing`: the structures in alternation, frame by frame, within a budget of seconds;
5. `verdict`: who is fastest, and which measured figures say why.

`results` says what comes out, `tables` draws it. What makes up a frame is in `playback`, for all.
"""
