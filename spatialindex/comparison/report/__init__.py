"""A comparison as one HTML file that opens offline: figures, time lines, and the scene to look at.

`scene` packs what the player draws, within a budget of bytes; `page` puts it together with the
figures, the scripts and the styles in ``assets``. `uPlot` draws plots, `three` scenes in 3D;
both are in the file with their licences, and a Content-Security-Policy keeps it off the network.
"""
