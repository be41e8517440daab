"""The split index: one structure for what rests, one for what moves, one for what is oversized.

`index` is the public class with its steps, `structure` asks the three parts and puts together what
they answer, `routing` decides who belongs where, `views` shows each part its slots of the table,
`table` keeps hulls of fast objects, `tracker` tells what began and ended, and `report` is what a
step returns.
"""
